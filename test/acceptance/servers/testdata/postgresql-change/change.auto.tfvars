readers = { ann = 4, cas = 5 }
schemas = ["sales", "store"]
create  = true
