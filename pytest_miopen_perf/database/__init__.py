"""MIOpen's data bases: find-dbs, text and SQLite perf-dbs, our own store, and the tools over them."""
