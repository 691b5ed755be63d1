terraform {
  encryption {
    method "external" "tool" {
      encrypt_command = ["sh", "./turn.sh"]
      decrypt_command = ["sh", "./turn.sh"]
    }
    state {
      method = method.external.tool
    }
  }
}

output "words" {
  value     = "the quick brown fox"
  sensitive = true
}
