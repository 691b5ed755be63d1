hosts = { a = ["192.0.2.9", "192.0.2.1"], c = ["192.0.2.4"], d = ["192.0.2.7"] }
ttl   = 120
zones = ["example.test.", "other.example.test."]
