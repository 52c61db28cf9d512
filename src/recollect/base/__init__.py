"""Basics that every other package uses: time, ids, errors, settings, paths, text. Imports none of them."""
