"""Load, bind and run compiled programs.

torch is imported here and in the frontend only, cupy here only, and only when a GPU or NVRTC is really used.
"""
