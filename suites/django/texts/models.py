"""Texts to search, apart from the shop: servers without tsvector still have the shop."""

from django.contrib.postgres.search import SearchVectorField
from django.db import models


class Document(models.Model):
    body = models.TextField()
    vector = SearchVectorField(null=True)
