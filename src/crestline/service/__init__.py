"""The service: private top-k over HTTP, for analysts who hold neither the data nor the books. No privacy logic here."""
