terraform {
  encryption {
    key_provider "pbkdf2" "words" {
      passphrase               = "a long enough passphrase"
      encrypted_metadata_alias = "somewhere else"
      hash_function            = "sha256"
      iterations               = 200001
      key_length               = 16
      salt_length              = 20
    }
    method "aes_gcm" "strong" {
      keys = key_provider.pbkdf2.words
      aad  = [1, 2, 3]
    }
    state {
      method   = method.aes_gcm.strong
      enforced = true
    }
  }
}

output "words" {
  value     = "the quick brown fox"
  sensitive = true
}
