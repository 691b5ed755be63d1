package output

// CrashText is what a mistake of the program is reported as, with what it said and where.
const CrashText = `
!!!!!!!!!!!!!!!!!!!!!!!!!!! WEIR CRASH !!!!!!!!!!!!!!!!!!!!!!!!!!!!

weir came upon a state of affairs that it does not expect. That is a mistake in
weir, not in your configuration. Please report it with the text below, after
taking out what is confidential.

panic: %v

%s
!!!!!!!!!!!!!!!!!!!!!!!!!!! WEIR CRASH !!!!!!!!!!!!!!!!!!!!!!!!!!!!
`
