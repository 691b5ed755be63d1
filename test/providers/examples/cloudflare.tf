terraform {
  required_providers {
    cloudflare = { source = "cloudflare/cloudflare" }
  }
}
provider "cloudflare" { api_token = "0123456789012345678901234567890123456789" }
resource "cloudflare_zone" "example" {
  name    = "example.com"
  account = { id = "0123456789abcdef0123456789abcdef" }
}
resource "cloudflare_dns_record" "www" {
  zone_id = cloudflare_zone.example.id
  name    = "www.example.com"
  type    = "A"
  content = "192.0.2.1"
  ttl     = 300
}
