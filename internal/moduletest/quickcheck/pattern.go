package quickcheck

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// matching makes a text that a regular expression matches.
func matching(pattern string, random *rand.Rand) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	m := matcher{&b, random}
	m.write(re)
	return b.String(), b.Len() < maxText
}

const (
	maxText  = 4096
	maxTimes = 6 // of what may be repeated without end
)

type matcher struct {
	*strings.Builder
	random *rand.Rand
}

func (m matcher) write(re *syntax.Regexp) {
	if m.Len() >= maxText {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			m.WriteRune(r)
		}
	case syntax.OpCharClass:
		m.class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		m.WriteByte(letters[m.random.IntN(len(letters))])
	case syntax.OpCapture, syntax.OpConcat:
		for _, part := range re.Sub {
			m.write(part)
		}
	case syntax.OpAlternate:
		m.write(re.Sub[m.random.IntN(len(re.Sub))])
	case syntax.OpQuest:
		m.times(re.Sub[0], 0, 1)
	case syntax.OpStar:
		m.times(re.Sub[0], 0, maxTimes)
	case syntax.OpPlus:
		m.times(re.Sub[0], 1, maxTimes)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = re.Min + maxTimes
		}
		m.times(re.Sub[0], re.Min, most)
	}
}

func (m matcher) times(re *syntax.Regexp, least, most int) {
	n := least + m.random.IntN(most-least+1)
	switch m.random.IntN(4) { // the ends more often than what is between
	case 0:
		n = least
	case 1:
		n = most
	}
	for range n {
		m.write(re)
	}
}

// class writes a sign of a class, a plain one where there is any.
func (m matcher) class(pairs []rune) {
	var plain []rune
	for i := 0; i+1 < len(pairs); i += 2 {
		for r := max(pairs[i], ' '); r <= min(pairs[i+1], '~'); r++ {
			plain = append(plain, r)
		}
	}
	if len(plain) > 0 {
		m.WriteRune(plain[m.random.IntN(len(plain))])
	} else if len(pairs) > 0 {
		m.WriteRune(pairs[0])
	}
}
