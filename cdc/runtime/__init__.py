"""Where the stages meet: the Spark session, one micro-batch, the stream, the demo."""
