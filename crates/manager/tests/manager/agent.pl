# An agent of a few words: answers `initialize`, and each prompt with `init` and a result, and keeps
# its conversation where the real one does.
#
# Usage: perl agent.pl MODE ... [--resume=ID | --session-id=ID] ...
#   honest    resumes the conversation of its arguments
#   foreign   begins a new conversation whatever its arguments say
use strict;
use warnings;
use Cwd;

$| = 1;
my $mode = shift @ARGV;
my ($resume) = map { /^--resume=(.*)/ ? $1 : () } @ARGV;
my ($named) = map { /^--session-id=(.*)/ ? $1 : () } @ARGV;
my $cwd = getcwd();
my $id = $resume // $named // sprintf("new-%d-%d", $$, time);
$id = "foreign-$$" if $mode eq "foreign";

(my $slug = $cwd) =~ s/[^A-Za-z0-9]/-/g;
my $folder = "$ENV{CLAUDE_CONFIG_DIR}/projects/$slug";
mkdir "$ENV{CLAUDE_CONFIG_DIR}/projects";
mkdir $folder;

my $turns = 0;
while (my $line = <STDIN>) {
    if ($line =~ /"type":"control_request"/) {
        my ($request) = $line =~ /"request_id":"([^"]*)"/;
        print qq({"type":"control_response","response":{"subtype":"success","request_id":"$request","response":{}}}\n);
        last if $line =~ /"subtype":"end_session"/;
    } elsif ($line =~ /"type":"user"/) {
        my ($uuid) = $line =~ /"uuid":"([^"]*)"/;
        open(my $file, ">>", "$folder/$id.jsonl") or die $!;
        print $file qq({"type":"user","cwd":"$cwd","sessionId":"$id","uuid":"$uuid"}\n);
        close $file;
        $turns++;
        print qq({"type":"system","subtype":"init","cwd":"$cwd","session_id":"$id","tools":[],"model":"m","permissionMode":"default","uuid":"i-$$-$turns"}\n);
        $line =~ s/\s+$//;
        $line =~ s/\}$/,"session_id":"$id","isReplay":true}/;
        print "$line\n";
        print qq({"type":"result","subtype":"success","is_error":false,"result":"done","num_turns":1,"duration_ms":1,"session_id":"$id","uuid":"r-$$-$turns"}\n);
    }
}
