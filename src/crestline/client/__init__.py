"""The client: a service's data sets through the same methods as local ones."""
