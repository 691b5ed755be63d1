terraform {
  required_providers {
    helm = { source = "hashicorp/helm" }
  }
}
provider "helm" { kubernetes = { host = "http://127.0.0.1:1" } }
