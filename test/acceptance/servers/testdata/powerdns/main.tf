terraform {
  required_providers {
    powerdns = {
      source  = "pan-net/powerdns"
      version = "1.5.0"
    }
  }
}

variable "hosts" {
  type    = map(list(string))
  default = { a = ["192.0.2.1"], b = ["192.0.2.2", "192.0.2.3"], c = ["192.0.2.4"] }
}

variable "ttl" {
  type    = number
  default = 300
}

variable "zones" {
  type    = set(string)
  default = ["example.test.", "sub.example.test."]
}

resource "powerdns_zone" "zone" {
  for_each    = var.zones
  name        = each.key
  kind        = "Native"
  nameservers = ["ns1.${each.key}", "ns2.${each.key}"]
}

resource "powerdns_record" "host" {
  for_each = var.hosts
  zone     = powerdns_zone.zone["example.test."].name
  name     = "${each.key}.example.test."
  type     = "A"
  ttl      = var.ttl
  records  = each.value
}

resource "powerdns_record" "mail" {
  zone    = powerdns_zone.zone["example.test."].name
  name    = "example.test."
  type    = "MX"
  ttl     = var.ttl
  records = [for k, h in powerdns_record.host : "${10 * length(h.records)} ${h.name}"]
}

resource "powerdns_record" "text" {
  for_each = powerdns_zone.zone
  zone     = each.value.name
  name     = each.value.name
  type     = "TXT"
  ttl      = 60
  records  = ["\"kind=${each.value.kind}\""]
}
