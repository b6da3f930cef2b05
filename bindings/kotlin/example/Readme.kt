package dev.bowline.example

import dev.bowline.*
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.last

/** The example of bindings/README.md; `.ci/covered.py` compares the two. */
suspend fun readme() {
    val engine = Bowline.engine()
    engine.start(DialogueConfiguration(cwd = "/some/project")).use { session ->
        session.send("What is in this folder?")
        val idle = session.transcripts().first { transcript ->
            transcript.permissions.filter { it.state == PermissionState.OPEN }
                .forEach { session.deny(it.requestId, "read-only session") }
            transcript.phase == Phase.IDLE && transcript.entries.isNotEmpty()
        }
        println(idle.toJson())
        session.end()
    }
}

suspend fun show(path: String) = Bowline.engine().openRecording(path).use { recording ->
    val transcript = recording.transcripts().last()
    for (call in transcript.toolCalls()) {
        println("${call.kind} ${call.title ?: call.name} ${call.exitCode ?: 0}")
        call.content.filterIsInstance<CallContent.Diff>().forEach { diff ->
            println("${diff.path}: ${diff.old ?: "(new file)"} -> ${diff.new ?: "(deleted)"}")
        }
    }
}

suspend fun resumeNewest(words: String): DialogueSession? {
    val engine = Bowline.engine()
    val query = HistoryQuery(agent = "claude", search = words, limit = 1u)
    val found = engine.history().use { it.list(query) }.conversations.firstOrNull() ?: return null
    return engine.start(
        DialogueConfiguration(
            cwd = found.cwd,
            conversation = Conversation.Resume(found.id, fork = false),
            history = HistoryConfiguration(),
        ),
    )
}
