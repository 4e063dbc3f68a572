print("jostle")
