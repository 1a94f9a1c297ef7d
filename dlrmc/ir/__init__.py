"""The typed IR: values, ops, graphs, their text and their meaning. Imports no other part of dlrmc."""
