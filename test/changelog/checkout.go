package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// An entry is one item of a changelog.
type entry struct {
	Engine  string // opentofu or terraform
	Version string // of the release, such as 1.12.3
	ID      string // "#NUMBER" of its issue or pull request, or "~" and a hash of the text
	Text    string // on one line, without links
}

var (
	release = regexp.MustCompile(`^## +v?(\d+\.\d+\.\d+)`)
	item    = regexp.MustCompile(`^ ?[-*] +(.*)`)
	link    = regexp.MustCompile(`(?:\[#?|/issues/|/pull/)(\d{2,6})`)
	links   = regexp.MustCompile(`\(?\[[^\]]*\]\(+https?://[^)]*\)+`)
	pending = regexp.MustCompile(`^v(\d+\.\d+)$`)
)

// readCheckout returns the entries of a clone: those of its work tree, of its release
// branches, and those that Terraform collects in .changes until a release.
func readCheckout(dir string) ([]entry, error) {
	module, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	engine := ""
	switch {
	case strings.HasPrefix(string(module), "module github.com/opentofu/opentofu\n"):
		engine = "opentofu"
	case strings.HasPrefix(string(module), "module github.com/hashicorp/terraform\n"):
		engine = "terraform"
	default:
		return nil, fmt.Errorf("%s: neither OpenTofu nor Terraform", dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	all := parseChangelog(engine, string(text))
	more, err := readPending(engine, filepath.Join(dir, ".changes"))
	if err != nil {
		return nil, err
	}
	all = append(all, more...)
	// Without Git only the work tree counts.
	refs, err := exec.Command("git", "-C", dir, "for-each-ref", "--format=%(refname)", "refs/heads/v1.*", "refs/remotes/*/v1.*").Output()
	if err != nil {
		return all, nil
	}
	for _, ref := range strings.Fields(string(refs)) {
		text, err := exec.Command("git", "-C", dir, "show", ref+":CHANGELOG.md").Output()
		if err != nil {
			return nil, fmt.Errorf("%s: reading CHANGELOG.md of %s: %w", dir, ref, err)
		}
		all = append(all, parseChangelog(engine, string(text))...)
	}
	return all, nil
}

// parseChangelog returns the items below headings of releases. Indented lines continue an
// item; paragraphs outside of items are no entries.
func parseChangelog(engine, text string) []entry {
	var list []entry
	version, inside := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch match := release.FindStringSubmatch(line); {
		case match != nil:
			version, inside = match[1], false
		case strings.HasPrefix(line, "#"):
			inside = false
			if strings.HasPrefix(line, "## ") {
				version = ""
			}
		case version == "" || line == "":
		case item.MatchString(line):
			list = append(list, entry{Engine: engine, Version: version, Text: item.FindStringSubmatch(line)[1]})
			inside = true
		case strings.HasPrefix(line, " ") && inside:
			list[len(list)-1].Text += " " + strings.TrimSpace(line)
		default:
			inside = false
		}
	}
	for i := range list {
		list[i] = identify(list[i])
	}
	return list
}

// readPending reads the folders .changes/vX.Y, which have one YAML file for each entry of the
// next release of X.Y.
func readPending(engine, dir string) ([]entry, error) {
	var list []entry
	folders, _ := os.ReadDir(dir) // OpenTofu has none
	for _, folder := range folders {
		match := pending.FindStringSubmatch(folder.Name())
		if match == nil {
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, folder.Name(), "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			e := entry{Engine: engine, Version: match[1] + ".0"}
			for line := range strings.Lines(string(text)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				switch value = strings.Trim(value, `'"`); key {
				case "body":
					e.Text = value
				case "Issue":
					e.Text += " [#" + value + "](https://github.com/hashicorp/terraform/issues/" + value + ")"
				}
			}
			if e.Text == "" {
				return nil, fmt.Errorf("%s: no body", file)
			}
			list = append(list, identify(e))
		}
	}
	return list, nil
}

// identify sets the ID, and takes the links out of the text.
func identify(e entry) entry {
	if match := link.FindStringSubmatch(e.Text); match != nil {
		e.ID = "#" + match[1]
	} else {
		sum := sha256.Sum256([]byte(strings.Join(strings.Fields(e.Text), " ")))
		e.ID = fmt.Sprintf("~%x", sum[:4])
	}
	e.Text = strings.Join(strings.Fields(links.ReplaceAllString(e.Text, "")), " ")
	return e
}
