"""The service: private top-k over HTTP, for analysts who hold neither the data nor the ledger.

It holds no privacy logic: it finds out who asks, makes a `Question`, and hands it to `prepare` and `ask`.
"""
