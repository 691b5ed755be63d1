terraform {
  required_providers {
    tls = { source = "hashicorp/tls" }
  }
}
resource "tls_private_key" "key" { algorithm = "ED25519" }
resource "tls_self_signed_cert" "cert" {
  private_key_pem       = tls_private_key.key.private_key_pem
  validity_period_hours = 12
  allowed_uses          = ["server_auth"]
  subject { common_name = "example.com" }
}
