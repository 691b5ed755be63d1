//go:build !unix

package durable

import "os"

// movesOpen: an open file can't get another name.
const movesOpen = false

// cannotSync is true where folders can't be synced.
func cannotSync(error) bool { return true }

// hold does nothing where files have no locks that end with their process.
func hold(*os.File) bool { return true }

func removeStale(string, ...string) {}

func removeStaleFolders(string, string) {}
