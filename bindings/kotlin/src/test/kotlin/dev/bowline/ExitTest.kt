package dev.bowline

import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import kotlinx.coroutines.DelicateCoroutinesApi
import kotlinx.coroutines.GlobalScope
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** A host that returns from `main` with everything open: a session, readers that wait, a log. */
object Leaver {
    @OptIn(DelicateCoroutinesApi::class)
    @JvmStatic
    fun main(arguments: Array<String>): Unit = runBlocking {
        val lines = AtomicInteger()
        Bowline.log(LogLevel.TRACE) { lines.incrementAndGet() }
        val session = Bowline.engine(program = arguments[0]).start(configuration())
        repeat(4) { GlobalScope.launch { session.batches().collect { } } }
        GlobalScope.launch { session.ended() }
        println("${session.say("hello").settled()}, ${session.pid()}")
        eventually("readers wait and lines come") { Bowline.counters().pulls == 4uL && lines.get() > 0 }
    }
}

class ExitTest {
    @Test
    fun `a JVM exits by itself, and its agent with it`() {
        val output = temporary().resolve("output")
        val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
        val own = listOf("jna.library.path", "jna.nosys", "bowline.programs", "bowline.fixtures")
        val properties = own.map { "-D$it=${System.getProperty(it)}" }
        val host = ProcessBuilder(listOf(java) + properties + listOf("-cp", System.getProperty("java.class.path"), Leaver::class.java.name, understudy))
            .redirectErrorStream(true).redirectOutput(output.toFile()).start()
        val hasExited = host.waitFor(60, TimeUnit.SECONDS)
        host.destroyForcibly()
        val said = Files.readString(output)
        assertTrue(hasExited, "it goes on: $said")
        assertEquals(0, host.exitValue(), said)
        assertTrue(said.startsWith("ANSWERED, "), said)
        val agent = ProcessHandle.of(said.trim().substringAfter(", ").toLong())
        agent.ifPresent { it.onExit().get(10, TimeUnit.SECONDS) }
    }
}
