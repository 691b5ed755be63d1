// Package releases reads the index of a release server, which lists versions of weir.
//
// It never chooses a server. It installs nothing.
package releases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"golang.org/x/mod/semver"

	"weir.dev/weir/internal/net/httpcall"
)

// Variable is the environment variable with the address of the release server. Without it
// nothing is requested.
const Variable = "WEIR_RELEASES"

// Latest returns the latest version that the server at base lists. A version with a
// pre-release part counts only where current has one too.
func Latest(ctx context.Context, client httpcall.Client, base, current string) (string, error) {
	at, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	if at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return "", fmt.Errorf("%s is %q, which doesn't begin with https:// or http://", Variable, base)
	}
	answer, err := client.Do(ctx, httpcall.Request{Method: "GET", URL: at.JoinPath("index.json")}, func(a httpcall.Answer) error {
		if a.Status != 200 {
			return fmt.Errorf("%s answered with the status %d", at.JoinPath("index.json").Redacted(), a.Status)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	var index struct {
		Versions []struct {
			ID string `json:"id"`
		} `json:"versions"`
	}
	if err := json.Unmarshal(answer.Body, &index); err != nil {
		return "", fmt.Errorf("the index of %s isn't valid: %w", at.Host, err)
	}
	latest := ""
	for _, v := range index.Versions {
		id := "v" + v.ID
		if !semver.IsValid(id) || semver.Prerelease(id) != "" && semver.Prerelease("v"+current) == "" {
			continue
		}
		if latest == "" || semver.Compare(id, latest) > 0 {
			latest = id
		}
	}
	if latest == "" {
		return "", errors.New("the index of " + at.Host + " lists no release")
	}
	return latest[1:], nil
}

// Newer reports whether version is newer than current.
func Newer(version, current string) bool { return semver.Compare("v"+version, "v"+current) > 0 }
