owner    = "storage"
days     = 60
hash_key = "key"
sites    = ["docs", "shop", "assets", "news"]
services = {
  orders   = { memory = 512 }
  payments = { fifo = true }
}
