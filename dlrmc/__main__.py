"""`python -m dlrmc` is `dlrmc`."""

from dlrmc.cli.application import main

main()
