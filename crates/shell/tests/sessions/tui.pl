# A program for people as hosts meet it: raw keys, bracketed paste, Enter apart.
#
# Usage: perl tui.pl FOLDER [deaf|plain|fickle]
#
# Says `got NUMBER LENGTH apart|joined` for each prompt that it was given by paste and Enter, and
# leaves the exact bytes of it in FOLDER/NUMBER. What comes outside a paste is `stray HEX`.
#   deaf    never reads
#   plain   does not ask for paste; a prompt is what comes before Enter
#   fickle  goes back to collecting lines in the middle of the first paste
use strict;
use warnings;

my ($folder, $kind) = (@ARGV, "");
my ($begin, $end) = ("\e[200~", "\e[201~");
binmode STDIN;
binmode STDOUT;
$| = 1;

sub say_line { print "$_[0]\r\n" }

say_line("starting");
system("stty raw -echo") == 0 or die "stty: $?";
if ($kind ne "plain") {
    # Cut where a host could stumble.
    syswrite STDOUT, "\e[?25l\e[?20";
    syswrite STDOUT, "04h";
}
say_line("ready");
if ($kind eq "deaf") { sleep 1000 while 1 }

my ($number, $held, $from) = (0, "", 0);
while (sysread STDIN, my $chunk, 65536) {
    $held .= $chunk;
    if ($kind eq "fickle") {
        syswrite STDOUT, "\e[?2004l";
        system("stty sane");
        say_line("gone back");
        sleep 1000;
    }
    while (length $held) {
        my $at;
        if ($kind eq "plain") {
            $at = index($held, "\r");
            last if $at < 0;
        } elsif (substr($held, 0, length $begin) eq $begin) {
            $at = index($held, $end, $from);
            if ($at < 0) {
                $from = length($held) - length($end);
                $from = 0 if $from < 0;
                last;
            }
            last if length($held) == $at + length $end;
            if (substr($held, $at + length $end, 1) ne "\r") {
                say_line("stray " . unpack("H*", substr($held, $at)));
                $held = "";
                next;
            }
        } elsif (index($begin, $held) == 0) {
            last;
        } else {
            say_line("stray " . unpack("H*", $held));
            $held = "";
            next;
        }
        my $skip = $kind eq "plain" ? 0 : length $begin;
        my $text = substr($held, $skip, $at - $skip);
        my $apart = $chunk eq "\r" ? "apart" : "joined";
        open(my $file, ">:raw", "$folder/$number") or die $!;
        print $file $text;
        close $file;
        say_line("got $number " . length($text) . " $apart");
        $held = substr($held, $at + 1 + ($kind eq "plain" ? 0 : length $end));
        ($number, $from) = ($number + 1, 0);
    }
}
