package provisioner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/core/schema"
	"weir.dev/weir/internal/provider/provisioner/remote"
)

// Connection is the schema of connection blocks.
func Connection() *schema.Block { return remote.Schema() }

// errNoConnection is for what works on other machines.
var errNoConnection = errors.New("Missing connection configuration for provisioner")

// reach logs in to the machine of the place.
func (at Place) reach(ctx context.Context, output func(string)) (*remote.Host, error) {
	if at.Connection == cty.NilVal || at.Connection.IsNull() {
		return nil, errNoConnection
	}
	target, err := remote.Parse(at.Connection, at.getenv)
	if err != nil {
		return nil, err
	}
	output(target.Describe())
	host, err := target.Connect(ctx)
	if err != nil {
		return nil, err
	}
	output("Connected!")
	return host, nil
}

// getenv is a variable of the environment that commands have.
func (at Place) getenv(name string) string {
	value := ""
	for _, v := range at.environment(cty.NullVal(cty.Map(cty.String)), "") {
		if n, text, _ := strings.Cut(v, "="); n == name {
			value = text
		}
	}
	return value
}

// path is a file of this machine.
func (at Place) path(name string) string {
	if rest, found := strings.CutPrefix(name, "~/"); found {
		return filepath.Join(at.getenv("HOME"), rest)
	}
	if filepath.IsAbs(name) || at.Dir == "" {
		return name
	}
	slash := ""
	if strings.HasSuffix(filepath.ToSlash(name), "/") {
		slash = "/" // it means what is in a directory
	}
	return filepath.Join(at.Dir, name) + slash
}

// remoteExec runs scripts on another machine.
type remoteExec struct{}

// Schema implements Provisioner.
func (remoteExec) Schema() *schema.Block {
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"inline":  {Type: cty.List(cty.String), Optional: true},
		"script":  {Type: cty.String, Optional: true},
		"scripts": {Type: cty.List(cty.String), Optional: true},
	}}
}

func (remoteExec) check(config cty.Value) error {
	set := 0
	for _, name := range []string{"inline", "script", "scripts"} {
		if !config.GetAttr(name).IsNull() {
			set++
		}
	}
	if set != 1 {
		return errors.New(`Only one of "inline", "script", or "scripts" must be set`)
	}
	return nil
}

// scripts are what is to be run, in order.
func (remoteExec) scripts(at Place, config cty.Value) (scripts [][]byte, err error) {
	texts := func(name string) (list []string, err error) {
		v := config.GetAttr(name)
		if v.IsNull() {
			return nil, nil
		}
		values := []cty.Value{v}
		if !v.Type().Equals(cty.String) {
			values = v.AsValueSlice()
		}
		for _, e := range values {
			if e.IsNull() || e.AsString() == "" {
				return nil, fmt.Errorf("invalid empty string in '%s'", name)
			}
			list = append(list, e.AsString())
		}
		return list, nil
	}
	inline, err := texts("inline")
	if err != nil {
		return nil, err
	}
	if inline != nil {
		return [][]byte{[]byte(strings.Join(inline, "\n") + "\n")}, nil
	}
	one, err := texts("script")
	many, more := texts("scripts")
	if err = errors.Join(err, more); err != nil {
		return nil, err
	}
	for _, name := range append(one, many...) {
		script, err := os.ReadFile(at.path(name))
		if err != nil {
			return nil, fmt.Errorf("Failed to open script '%s': %w", name, err)
		}
		scripts = append(scripts, script)
	}
	return scripts, nil
}

// Run implements Provisioner.
func (e remoteExec) Run(ctx context.Context, at Place, config cty.Value, output func(string)) error {
	if err := e.check(config); err != nil {
		return err
	}
	scripts, err := e.scripts(at, config)
	if err != nil {
		return err
	}
	host, err := at.reach(ctx, output)
	if err != nil {
		return err
	}
	defer host.Close()
	for _, script := range scripts {
		if err := host.Script(ctx, script, output); err != nil {
			return err
		}
	}
	return nil
}

// file brings files to another machine.
type file struct{}

// Schema implements Provisioner.
func (file) Schema() *schema.Block {
	return &schema.Block{Attributes: map[string]*schema.Attribute{
		"source":      {Type: cty.String, Optional: true},
		"content":     {Type: cty.String, Optional: true},
		"destination": {Type: cty.String, Required: true},
	}}
}

func (file) check(config cty.Value) error {
	source, content, destination := config.GetAttr("source"), config.GetAttr("content"), config.GetAttr("destination")
	switch {
	case !source.IsNull() && !content.IsNull():
		return errors.New("Cannot set both 'source' and 'content'")
	case source.IsNull() && content.IsNull():
		return errors.New("Must provide one of 'source' or 'content'")
	case destination.IsKnown() && (destination.IsNull() || destination.AsString() == ""):
		return errors.New("The destination must be a non-empty string")
	}
	return nil
}

// Run implements Provisioner.
func (f file) Run(ctx context.Context, at Place, config cty.Value, output func(string)) error {
	if err := f.check(config); err != nil {
		return err
	}
	host, err := at.reach(ctx, output)
	if err != nil {
		return err
	}
	defer host.Close()
	to := text(config, "destination")
	if content := config.GetAttr("content"); !content.IsNull() {
		err = host.Put(ctx, to, []byte(content.AsString()))
	} else {
		err = host.Copy(ctx, to, at.path(text(config, "source")))
	}
	if err != nil {
		return fmt.Errorf("Upload failed: %w", err)
	}
	return nil
}
