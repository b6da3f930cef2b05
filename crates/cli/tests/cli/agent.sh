#!/bin/sh
# An agent: the understudy inside the command under test.
exec "$BOWLINE" understudy "$@"
