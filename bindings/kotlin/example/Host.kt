package dev.bowline.example

import dev.bowline.Bowline
import dev.bowline.DialogueConfiguration
import dev.bowline.EntryKind
import dev.bowline.PermissionState
import dev.bowline.Phase
import dev.bowline.allow
import dev.bowline.say
import dev.bowline.settled
import dev.bowline.transcripts
import kotlin.system.exitProcess
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

/** A host in a terminal: asks an agent, shows what it says, and allows what it asks for. */
fun main(arguments: Array<String>): Unit = runBlocking {
    val prompt = arguments.firstOrNull() ?: run {
        System.err.println("usage: Host PROMPT [PROGRAM [ARGUMENT…]]")
        exitProcess(2)
    }
    val engine = Bowline.engine(program = arguments.getOrNull(1))
    engine.start(DialogueConfiguration(args = arguments.drop(2))).use { session ->
        val answers = launch {
            val answered = HashSet<String>()
            session.transcripts().collect { transcript ->
                val open = transcript.permissions.filter { it.state == PermissionState.OPEN }
                open.filter { answered.add(it.requestId) }.forEach { session.allow(it.requestId) }
            }
        }
        session.say(prompt).use { it.settled() }
        val last = session.transcripts().first { transcript ->
            transcript.phase == Phase.IDLE && transcript.entries.any { it.value is EntryKind.Result }
        }
        last.entries.flatMap { it.blocks }.map { it.text }.filter { it.isNotEmpty() }.forEach(::println)
        println("-- " + session.end().reason)
        answers.join()
    }
}
