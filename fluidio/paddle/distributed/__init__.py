"""`paddle.distributed`: start the processes of a job."""
