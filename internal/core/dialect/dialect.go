// Package dialect defines the differences between OpenTofu mode and Terraform mode: the
// registry of short addresses, the file names, the claimed version, and names in output for
// programs.
package dialect

import (
	"fmt"

	"weir.dev/weir/internal/core/addr"
)

// A Dialect is one of the two engines. The zero value is OpenTofu.
type Dialect uint8

// The dialects.
const (
	OpenTofu Dialect = iota
	Terraform
)

// Parse reads a dialect's name.
func Parse(name string) (Dialect, error) {
	for _, d := range []Dialect{OpenTofu, Terraform} {
		if name == d.String() {
			return d, nil
		}
	}
	return OpenTofu, fmt.Errorf("it has to be %q or %q", OpenTofu, Terraform)
}

// String is the name that settings have for it.
func (d Dialect) String() string {
	if d == Terraform {
		return "terraform"
	}
	return "opentofu"
}

// Product is the engine's name for people.
func (d Dialect) Product() string {
	if d == Terraform {
		return "Terraform"
	}
	return "OpenTofu"
}

// Command is the name of the engine's program, which is also that of the engine
// in streams of JSON and in files.
func (d Dialect) Command() string {
	if d == Terraform {
		return "terraform"
	}
	return "tofu"
}

// CloudHost is the host of cloud blocks that name none, "" for an error.
func (d Dialect) CloudHost() string {
	if d == Terraform {
		return "app.terraform.io"
	}
	return ""
}

// Version is that of the engine whose behaviour is promised: configurations' required_version
// is held to it, and other programs are reported it. For Terraform it is the one whose
// language this is, though actions and queries are missing.
func (d Dialect) Version() string {
	if d == Terraform {
		return "1.15.9"
	}
	return "1.12.6"
}

// Registry is where addresses without a host are.
func (d Dialect) Registry() addr.Registry {
	if d == Terraform {
		return addr.Terraform
	}
	return addr.OpenTofu
}

// TofuFiles reports whether files with the extension .tofu are read.
func (d Dialect) TofuFiles() bool { return d == OpenTofu }
