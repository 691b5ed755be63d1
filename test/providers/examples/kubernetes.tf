terraform {
  required_providers {
    kubernetes = { source = "hashicorp/kubernetes" }
  }
}
provider "kubernetes" { host = "http://127.0.0.1:1" }
resource "kubernetes_namespace_v1" "app" {
  metadata { name = "app" }
}
resource "kubernetes_config_map_v1" "settings" {
  metadata {
    name      = "settings"
    namespace = kubernetes_namespace_v1.app.metadata[0].name
  }
  data = { mode = "production" }
}
resource "kubernetes_deployment_v1" "web" {
  metadata {
    name      = "web"
    namespace = kubernetes_namespace_v1.app.metadata[0].name
  }
  spec {
    replicas = 2
    selector { match_labels = { app = "web" } }
    template {
      metadata { labels = { app = "web" } }
      spec {
        container {
          name  = "web"
          image = "nginx:1.27"
          port { container_port = 80 }
        }
      }
    }
  }
}
