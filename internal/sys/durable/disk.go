package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A Disk is where files are changed. The nil Disk is the system's. One with
// functions has somebody look over its shoulder, such as a simulation of crashes.
type Disk struct {
	// Before is asked before each change, and may take its time. Its error is that of
	// the change, which isn't made then.
	Before func(Change) error
	// Opened is given each file that is opened through the disk.
	Opened func(*os.File)
}

// A Kind is what a change does.
type Kind string

// Kinds of changes.
const (
	Open       Kind = "open"   // a file that may be made, changed or locked
	Write      Kind = "write"  // a part of a file
	Append     Kind = "append" // the same, by who holds a mutex and must not be held up
	Sync       Kind = "sync"
	Move       Kind = "rename"
	Link       Kind = "link"
	Remove     Kind = "remove"
	Folder     Kind = "folder" // a folder is made
	FolderSync Kind = "sync folder"
	Turn       Kind = "turn" // nothing; an Append follows
)

// A Change is what is about to happen to files.
type Change struct {
	Kind Kind
	Path string // of Turn: what it is about
	To   string // of Move and Link
	// File is that of Write, Append and Sync, which may have another name by now.
	File *os.File
	// Made: Open makes a new file.
	Made bool
}

func (d *Disk) before(c Change) error {
	if d == nil || d.Before == nil {
		return nil
	}
	return d.Before(c)
}

// A File is a file of a disk. Anything that changes it goes through these methods; others are
// those of the system's file.
type File struct {
	*os.File
	disk *Disk
}

// OpenFile opens a file as os.OpenFile does.
func (d *Disk) OpenFile(name string, flag int, mode fs.FileMode) (*File, error) {
	made := false
	if d != nil && flag&os.O_CREATE != 0 {
		_, err := os.Lstat(name)
		made = errors.Is(err, fs.ErrNotExist)
	}
	if err := d.before(Change{Kind: Open, Path: name, Made: made}); err != nil {
		return nil, err
	}
	return d.opened(openFile(name, flag, mode))
}

// CreateTemp makes a file with a name that nothing has yet, as os.CreateTemp does.
func (d *Disk) CreateTemp(folder, pattern string) (*File, error) {
	if err := d.before(Change{Kind: Open, Path: filepath.Join(folder, pattern), Made: true}); err != nil {
		return nil, err
	}
	return d.opened(createTemp(folder, pattern))
}

func (d *Disk) opened(file *os.File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	if d != nil && d.Opened != nil {
		d.Opened(file)
	}
	return &File{file, d}, nil
}

// Write writes where the file is at.
func (f *File) Write(content []byte) (int, error) {
	if err := f.disk.before(Change{Kind: Write, Path: f.Name(), File: f.File}); err != nil {
		return 0, err
	}
	return f.File.Write(content)
}

// WriteAt writes in a place of the file.
func (f *File) WriteAt(content []byte, at int64) (int, error) {
	if err := f.disk.before(Change{Kind: Write, Path: f.Name(), File: f.File}); err != nil {
		return 0, err
	}
	return f.File.WriteAt(content, at)
}

// Append is Write for who holds a mutex.
func (f *File) Append(content []byte) (int, error) {
	if err := f.disk.before(Change{Kind: Append, Path: f.Name(), File: f.File}); err != nil {
		return 0, err
	}
	return f.File.Write(content)
}

// Truncate changes the length of the file.
func (f *File) Truncate(size int64) error {
	if err := f.disk.before(Change{Kind: Write, Path: f.Name(), File: f.File}); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Sync puts what was written on the disk.
func (f *File) Sync() error {
	if err := f.disk.before(Change{Kind: Sync, Path: f.Name(), File: f.File}); err != nil {
		return err
	}
	return f.File.Sync()
}

// Turn returns when something may be appended; what says what it is about.
func (f *File) Turn(what string) error {
	return f.disk.before(Change{Kind: Turn, Path: what})
}

// Move gives a file another name, at once and in place of another file, but not on
// the disk.
func (d *Disk) Move(from, to string) error {
	if err := d.before(Change{Kind: Move, Path: from, To: to}); err != nil {
		return err
	}
	return rename(from, to)
}

// Rename puts a file in the place of another, and that on the disk. After an error of the last
// part the file is in place, but may not survive a failure of the machine.
func (d *Disk) Rename(from, to string) error {
	if err := d.Move(from, to); err != nil {
		return err
	}
	return d.SyncFolder(filepath.Dir(to))
}

// Link gives a file a second name.
func (d *Disk) Link(from, to string) error {
	if err := d.before(Change{Kind: Link, Path: from, To: to}); err != nil {
		return err
	}
	return os.Link(from, to)
}

// Remove removes a name.
func (d *Disk) Remove(name string) error {
	if err := d.before(Change{Kind: Remove, Path: name}); err != nil {
		return err
	}
	return os.Remove(name)
}

// MakeFolders makes a folder and those above it as far as they are missing, and
// puts their names on the disk, without which nothing in them would be found.
func (d *Disk) MakeFolders(folder string, mode fs.FileMode) error {
	var made []string
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	if len(made) == 0 {
		return os.MkdirAll(folder, mode) // which says what is in the way
	}
	if err := d.before(Change{Kind: Folder, Path: folder}); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, mode); err != nil {
		return err
	}
	for _, at := range made {
		if err := d.SyncFolder(filepath.Dir(at)); err != nil {
			return err
		}
	}
	return nil
}

// SyncFolder puts the names of a folder on the disk. Where the file system can't do that, or
// the folder can't be read, nothing better is possible, and that is no error.
func (d *Disk) SyncFolder(folder string) error {
	if err := d.before(Change{Kind: FolderSync, Path: folder}); err != nil {
		return err
	}
	f, err := os.Open(folder)
	if err == nil {
		err = f.Sync()
		f.Close()
	}
	if err != nil && cannotSync(err) {
		return nil
	}
	return err
}

// Replace puts a file with a content and a mode in the place of another, or where
// there was none. After an error the old one is in place, or the new one, if only its name
// may not be on the disk.
func (d *Disk) Replace(path string, content []byte, mode fs.FileMode) error {
	if d == nil {
		removeStale(filepath.Dir(path), path)
	}
	if err := d.Put(path, content, mode); err != nil {
		return err
	}
	return d.SyncFolder(filepath.Dir(path))
}

// Put is Replace for what is of no use after a crash of the machine, such as who holds a
// lock: the old file may be there again then, or none.
func (d *Disk) Put(path string, content []byte, mode fs.FileMode) error {
	file, err := d.CreateTemp(filepath.Dir(path), temporary(path))
	for err == nil && !hold(file.File) { // somebody took it for one that was left behind
		file.Close()
		file, err = d.CreateTemp(filepath.Dir(path), temporary(path))
	}
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Chmod(mode), file.Sync()); err == nil && movesOpen {
		err = d.Move(file.Name(), path)
	}
	// Synced content stays even if closing fails.
	if closed := file.Close(); !movesOpen {
		if err = errors.Join(err, closed); err == nil {
			err = d.Move(file.Name(), path)
		}
	}
	if err != nil {
		_ = d.Remove(file.Name())
	}
	return err
}
