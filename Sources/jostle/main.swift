internal import Glibc

// Whoever reads a pipe of ours may leave: that is the end of a write, not of the program.
signal(SIGPIPE, SIG_IGN)
exit(Tool.main(Array(CommandLine.arguments.dropFirst())).rawValue)
