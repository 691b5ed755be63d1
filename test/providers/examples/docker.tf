terraform {
  required_providers {
    docker = { source = "kreuzwerker/docker" }
  }
}
provider "docker" { host = "unix:///nonexistent/docker.sock" }
resource "docker_image" "nginx" { name = "nginx:1.27" }
resource "docker_network" "inner" { name = "inner" }
resource "docker_volume" "data" { name = "data" }
resource "docker_container" "web" {
  name  = "web"
  image = docker_image.nginx.image_id
  ports {
    internal = 80
    external = 8080
  }
  networks_advanced { name = docker_network.inner.id }
  volumes {
    volume_name    = docker_volume.data.name
    container_path = "/data"
  }
}
