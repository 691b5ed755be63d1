terraform {
  encryption {
    key_provider "pbkdf2" "words" {
      passphrase = var.passphrase
      iterations = 200000
    }
    method "aes_gcm" "strong" {
      keys = key_provider.pbkdf2.words
    }
    state {
      method = method.aes_gcm.strong
    }
    plan {
      method = method.aes_gcm.strong
    }
  }
}

variable "passphrase" {
  default   = "a long enough passphrase"
  sensitive = true
}

output "words" {
  value     = "the quick brown fox"
  sensitive = true
}
