//! Images: formats, texels, sampled reads.
