"""Row programs: from the body of a `kernel row_program` to stages on a tile of rows in shared memory."""
