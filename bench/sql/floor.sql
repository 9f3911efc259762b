SELECT array_length(@keys@, 1)
