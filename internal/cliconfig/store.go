package cliconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"weir.dev/weir/internal/sys/durable"
	"weir.dev/weir/internal/sys/readlimit"
)

// An Origin is where the token for a host is, or would be.
type Origin int

const (
	// Nowhere: there is no token; a new one goes to the credentials file.
	Nowhere Origin = iota
	// InFile: it is in the credentials file, which login writes.
	InFile
	// Elsewhere: a user wrote it in another file or in the environment.
	Elsewhere
	// InHelper: the credentials helper has it, or would keep it.
	InHelper
)

// HostName is the normal form of a host's name, with a port that isn't the
// usual one.
func HostName(text string) (string, error) { return hostName(text) }

// CredentialsFile is where login keeps tokens.
func (env Environment) CredentialsFile() string {
	return filepath.Join(env.Dir(), "credentials.tfrc.json")
}

// Origin reports where the token for a host is; the file is CredentialsFile.
func (c *Credentials) Origin(file, host string) (Origin, error) {
	document, err := readCredentials(file)
	if err != nil {
		return Nowhere, err
	}
	if document.find(host) != "" {
		return InFile, nil
	}
	if _, ok := c.config.Tokens[host]; ok {
		return Elsewhere, nil
	}
	if c.config.Helper != nil {
		return InHelper, nil
	}
	return Nowhere, nil
}

// Store keeps a token for a host: with the helper, if there is one and the file
// doesn't have an older token, and in the file otherwise.
func (c *Credentials) Store(ctx context.Context, file, host, token string) error {
	origin, err := c.Origin(file, host)
	if err != nil {
		return err
	}
	if origin == InHelper {
		in, err := json.Marshal(map[string]string{"token": token})
		if err != nil {
			return err
		}
		_, err = c.help(ctx, "store", host, in)
		return err
	}
	return changeCredentials(file, func(d *document) error { return d.set(host, token) })
}

// Forget removes what Store kept.
func (c *Credentials) Forget(ctx context.Context, file, host string) error {
	origin, err := c.Origin(file, host)
	if err != nil {
		return err
	}
	if origin == InHelper {
		_, err := c.help(ctx, "forget", host, nil)
		return err
	}
	return changeCredentials(file, func(d *document) error {
		delete(d.hosts, d.find(host))
		return nil
	})
}

// A document is the credentials file, with all that others put into it.
type document struct {
	top   map[string]json.RawMessage
	hosts map[string]json.RawMessage
}

// find gives the name under which a host is there, or empty.
func (d *document) find(host string) string {
	for name := range d.hosts {
		if normal, err := hostName(name); err == nil && normal == host {
			return name
		}
	}
	return ""
}

func (d *document) set(host, token string) error {
	if old := d.find(host); old != "" {
		delete(d.hosts, old)
	}
	entry, err := json.Marshal(map[string]string{"token": token})
	d.hosts[host] = entry
	return err
}

func readCredentials(file string) (*document, error) {
	d := &document{top: map[string]json.RawMessage{}, hosts: map[string]json.RawMessage{}}
	data, err := readlimit.File(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(data)) == 0 {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &d.top); err != nil {
		return nil, fmt.Errorf("%s isn't valid JSON: %w", file, err)
	}
	if raw, ok := d.top["credentials"]; ok {
		if err := json.Unmarshal(raw, &d.hosts); err != nil {
			return nil, fmt.Errorf("%s has credentials in an unknown form: %w", file, err)
		}
	}
	return d, nil
}

// changeCredentials replaces the file, which nobody else may read.
func changeCredentials(file string, change func(*document) error) error {
	d, err := readCredentials(file)
	if err != nil {
		return err
	}
	if err := change(d); err != nil {
		return err
	}
	if d.top["credentials"], err = json.Marshal(d.hosts); err != nil {
		return err
	}
	data, err := json.MarshalIndent(d.top, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return durable.Replace(file, append(data, '\n'), 0o600)
}
