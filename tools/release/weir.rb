class Weir < Formula
  desc "Infrastructure-as-code engine for OpenTofu and Terraform configurations"
  homepage "https://weir.dev"
  version "{{.Version}}"
  license "MPL-2.0"
{{range .Archives}}
  on_{{.System}} do
    on_{{.Arch}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end
  end
{{end}}
  def install
    bin.install "weir"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/weir.bash" => "weir"
    zsh_completion.install "completions/_weir"
    fish_completion.install "completions/weir.fish"
  end

  test do
    assert_match "weir v#{version}", shell_output("#{bin}/weir version")
  end
end
