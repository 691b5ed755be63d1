terraform {
  encryption {
    key_provider "external" "vault" {
      command = ["sh", "./keys.sh"]
    }
    key_provider "pbkdf2" "derived" {
      chain      = key_provider.external.vault
      iterations = 200000
    }
    method "aes_gcm" "strong" {
      keys = key_provider.pbkdf2.derived
    }
    state {
      method = method.aes_gcm.strong
    }
  }
}

output "words" {
  value     = "the quick brown fox"
  sensitive = true
}
