package cliconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Credentials finds the token for a host: in the environment, the files, and
// then with the helper, which is asked once for each host.
type Credentials struct {
	config *Config
	dirs   []string

	mu    sync.Mutex
	asked map[string]string
}

// NewCredentials looks for the credentials helper in the given directories
// and then in PATH.
func NewCredentials(config *Config, dirs []string) *Credentials {
	return &Credentials{config: config, dirs: dirs, asked: make(map[string]string)}
}

// Token is the bearer token for a host, or empty without one.
func (c *Credentials) Token(ctx context.Context, host string) (string, error) {
	host, err := hostName(host)
	if err != nil {
		return "", err
	}
	if token, ok := c.config.Tokens[host]; ok {
		return token, nil
	}
	if c.config.Helper == nil {
		return "", nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if token, ok := c.asked[host]; ok {
		return token, nil
	}
	token, err := c.ask(ctx, host)
	if err == nil {
		c.asked[host] = token
	}
	return token, err
}

func (c *Credentials) ask(ctx context.Context, host string) (string, error) {
	out, err := c.help(ctx, "get", host, nil)
	if err != nil {
		return "", err
	}
	var answer struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("the credentials helper %s didn't answer with JSON for %s: %w", c.config.Helper.Name, host, err)
	}
	return answer.Token, nil
}

// help runs the credentials helper.
func (c *Credentials) help(ctx context.Context, verb, host string, in []byte) ([]byte, error) {
	name := "terraform-credentials-" + c.config.Helper.Name
	path := name
	for _, dir := range c.dirs {
		for _, sub := range []string{"", runtime.GOOS + "_" + runtime.GOARCH} {
			if candidate := filepath.Join(dir, sub, name); path == name && exists(candidate) {
				path = candidate
			}
		}
	}
	args := append(append([]string{}, c.config.Helper.Args...), verb, host)
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the credentials helper %s failed for %s: %w%s", name, host, err, suffix(errOut.String()))
	}
	return out.Bytes(), nil
}

func suffix(text string) string {
	if text = strings.TrimSpace(text); text != "" {
		return ": " + text
	}
	return ""
}
