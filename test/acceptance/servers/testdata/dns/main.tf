terraform {
  required_providers {
    dns = {
      source  = "hashicorp/dns"
      version = "3.6.1"
    }
  }
}

variable "hosts" {
  type = map(list(string))
  default = {
    a = ["192.0.2.1"]
    b = ["192.0.2.2", "192.0.2.3"]
    c = ["192.0.2.4"]
  }
}

variable "ttl" {
  type    = number
  default = 300
}

variable "zone" {
  description = "The zone; another makes everything anew."
  type        = string
  default     = "example.test."
}

resource "dns_a_record_set" "host" {
  for_each  = var.hosts
  zone      = var.zone
  name      = each.key
  addresses = each.value
  ttl       = var.ttl
}

resource "dns_aaaa_record_set" "host" {
  zone      = var.zone
  name      = "a"
  addresses = ["2001:db8::1"]
  ttl       = var.ttl
}

resource "dns_cname_record" "www" {
  zone  = var.zone
  name  = "www"
  cname = "${dns_a_record_set.host["a"].name}.${var.zone}"
  ttl   = var.ttl
}

resource "dns_mx_record_set" "mail" {
  zone = var.zone
  name = "mail"
  ttl  = var.ttl
  dynamic "mx" {
    for_each = var.hosts
    content {
      preference = 10 * length(mx.value)
      exchange   = "${dns_a_record_set.host[mx.key].name}.${var.zone}"
    }
  }
}

resource "dns_txt_record_set" "notes" {
  zone = var.zone
  name = "notes"
  txt  = ["hosts=${length(var.hosts)}", "ttl=${var.ttl}"]
  ttl  = 60
}

resource "dns_srv_record_set" "sip" {
  zone = var.zone
  name = "_sip._tcp"
  ttl  = 60
  srv {
    priority = 10
    weight   = 60
    port     = 5060
    target   = "b.${var.zone}"
  }
  srv {
    priority = 20
    weight   = 0
    port     = 5060
    target   = "c.${var.zone}"
  }
}

resource "dns_ns_record_set" "sub" {
  zone        = var.zone
  name        = "sub"
  nameservers = ["a.${var.zone}", "b.${var.zone}"]
  ttl         = 60
}

output "hosts" {
  value = { for k, h in dns_a_record_set.host : k => sort(h.addresses) }
}
