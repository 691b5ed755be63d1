package fetch

import (
	"strings"
	"testing"
)

// TestMetaSource reads pages as people write them.
func TestMetaSource(t *testing.T) {
	for page, want := range map[string]string{
		"<!DOCTYPE html>\n<HTML><HEAD><META NAME=\"terraform-get\" CONTENT=\"a?b=1&amp;c=2\"/></HEAD>":             "a?b=1&c=2",
		`<html><head><meta charset=utf-8><link rel="x"><br><meta content='git::x' name='terraform-get'>`:           "git::x",
		`<?xml version="1.0" encoding="latin1"?><html><head><meta name="terraform-get" content="é">`:               "é",
		`<head><!-- <meta name="terraform-get" content="no"> --></head><meta name="terraform-get" content="late">`: "",
		`<body><meta name="terraform-get" content="late">`:                                                         "",
		`<meta name="other" content="x">`: "",
		"\x00<":                           "",
		"":                                "",
	} {
		if got := metaSource(strings.NewReader(page)); got != want {
			t.Errorf("%s: %q, not %q", page, got, want)
		}
	}
}
