import {
  to = dns_txt_record_set.legacy
  id = "legacy.example.test."
}

resource "dns_txt_record_set" "legacy" {
  zone = var.zone
  name = "legacy"
  txt  = ["made", "before"]
  ttl  = 60
}

resource "dns_a_record_set" "legacy" {
  zone      = var.zone
  name      = "legacy"
  addresses = ["192.0.2.77"]
  ttl       = 60
}
