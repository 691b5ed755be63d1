package remoterun

import (
	"encoding/json"
	"strings"
)

// A Bookmark is a plan that the service keeps. Its file is the one that OpenTofu and Terraform
// write and read.
type Bookmark struct {
	Format int    `json:"remote_plan_format"`
	Run    string `json:"run_id"`
	Host   string `json:"hostname"`
}

// NewBookmark is that of a run.
func NewBookmark(run, host string) Bookmark { return Bookmark{1, run, host} }

// ReadBookmark reads the content of a file. It reports false for other content.
func ReadBookmark(data []byte) (b Bookmark, ok bool) {
	if json.Unmarshal(data, &b) != nil {
		return Bookmark{}, false
	}
	return b, b.Format == 1 && b.Host != "" && strings.HasPrefix(b.Run, "run-")
}

// Bytes is the content of its file.
func (b Bookmark) Bytes() []byte {
	text, _ := json.Marshal(b)
	return text
}
