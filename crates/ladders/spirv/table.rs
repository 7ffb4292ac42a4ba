// Made by `cargo xtask spirv`.
Table {
    tools: "Debian clang version 15.0.6 with Debian LLVM version 15.0.6",
    modules: &[
        // gemm/pack.cl -D HALF=1 -D WIDTH=4 -D TO_IMAGE=1
        module!("011dea346cbf1893e03985f7dbd57f21841e32cbc02b83949904e14a2c0c9177"),
        // saxpy.cl -D WIDTH=16
        module!("01daf447fa0bf5b11688367c44e3713bbb950abe462e92a576d3f06ac669216d"),
        // saxpy.cl -D WIDTH=2
        module!("01dc53b19444d67975cf6f64b212bd84da460e888695cd34cfe01681bdd0a881"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=2 -D TILE_N=8 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=2
        module!("07e3605a29bf3f616744fd83a6c112044cab328a05126db2f0e039b5241c8f5c"),
        // test.cl
        module!("09d8972b9d926126e97b54ae8bb4f25611ddf5ce1d3f036afd5d31e46183ea78"),
        // gemv_q4/masks.cl -D IMAGE=1 -D COLUMNS=16 -D PARTS=16
        module!("0a4765e3005b72a5dc8d6ad1d6e3a422b19f4de7ad20d77945bb7bfb0ac5489a"),
        // gemm/pack.cl -D HALF=1 -D WIDTH=8 -D TO_IMAGE=0
        module!("0c0185a0193c652820543c1989f0b85e83a577d52583f70f586e90c47a563e16"),
        // gemv/naive.cl
        module!("0c4f350a5c9fa472b7adb09728dc72585b8746d9a2ea1bff59b48ba3ab5f98c8"),
        // gemv/parts.cl -D PARTS=8 -D IMAGE=1
        module!("1153c0f95cec98efd7d566b50339dd8dbb8de468e1d59c8b450677c0488c9599"),
        // gemv/parts.cl -D PARTS=16 -D IMAGE=1
        module!("1303f565f90f78d4bcb883f758dbd28d1946328ab3d3eee4c64304833f354e8b"),
        // test.cl -cl-arm-non-uniform-work-group-size
        module!("14d2f3f13b8e28d11034ed576d6a10e8ec658f35dc20ce62b2ccf62a1bf7790b"),
        // border_kernel.cl
        module!("1ad876c2b0dcdaa9c72b7770d2712075faf83da7719cbb66282902661445e5df"),
        // gemv_q4/masks.cl -D IMAGE=0 -D COLUMNS=64 -D PARTS=1
        module!("1fc7a27e302cf1695b6a6c28e322f91469fb28d55981fa8625aa76cd3149ee14"),
        // gemv/parts.cl -D PARTS=8 -D IMAGE=0
        module!("2228035593a7e599108db112fa8322e4e8ededc6203af70beca8ea2eaf2cee14"),
        // gemv_q4/columns.cl -D WIDTH=4
        module!("2efbc7eb2ed4e8677abafa0c9118826908e2dc6574cc1ff7f0b3d4d7c5852d48"),
        // gemv/group.cl -D ROWS=4 -D IMAGE=1
        module!("2f9601a0f87e1745a00e4bce9d7cd88b40f8c01898149b9528fa3914a3624792"),
        // gemm/float4_dot.cl -D HALF=0
        module!("3283fae5c10289996cfedbcf08ab8a1f8e00e43c5d2fdcdccdfeb76a1ababece"),
        // saxpy.cl -D WIDTH=4
        module!("32c42ccd25f468e954ab9029ecc8d45a81207e4b810333892a95e2f39916fa9a"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=8 -D TILE_N=8 -D IMAGE_A=0 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("33c2b77dba018f6f401b91630d44b9d27b128ca2f0b408f0697b248f66ea0017"),
        // gemm/local_tile.cl -D HALF=1 -D SIDE=4 -D GROUP=16 -D DEPTH=16
        module!("35308eabe54d0a51bfa742942959d6876b01d8503355e30ad2c7eca19af62842"),
        // ratio.cl
        module!("372fe36292c8b5d3c487f6039921dcb5d82e2c2b76321254e76da6e68da4a02c"),
        // gemv_q4/masks.cl -D IMAGE=0 -D COLUMNS=32 -D PARTS=8
        module!("37ce143ae3e6d70c5a076e9919fd668e4376066bbeedc027be55fb1f996e5b16"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=8 -D TILE_N=8 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=2
        module!("3a26f7de863e79881728f3bdf72b5a3d1e7bfffa61702c5c6d298f04c814200c"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=1 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("3c63b48941f51184961fe00af72e8d776442b44889f5596cdb224e0317ed2be1"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=4 -D TILE_N=8 -D IMAGE_A=0 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("3ddb515831ebd510bf9d29fc5d093e30339cd4373fe8ae869bf0febe46cb0231"),
        // gemv_q4/masks.cl -D IMAGE=0 -D COLUMNS=32 -D PARTS=4
        module!("3e7e4802e4eb827a02acc47b2b13a24cb014873fd520dfb3047885754410232c"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=8 -D TILE_N=4 -D IMAGE_A=1 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("4284032d6b2c9aa72d564523c9a0c788e437ebcac3db459c6381168ed95334b2"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=2
        module!("4449d54895611b55e7e807311e45e2ecc437956a6ce84d355604547bc3059f95"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=1 -D IMAGE_B=0 -D FMA=1 -D UNROLL_K=2
        module!("480763e1a967c12821cffdeedf26e2611efef54e24a1351d7940d7f39a983fe0"),
        // gemv/parts.cl -D PARTS=4 -D IMAGE=0
        module!("4b0a47d6e6714fac2bff9d59f78c6fb50a780118af3e2d826ed1b290bc9276d4"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=1 -D IMAGE_B=0 -D FMA=1 -D UNROLL_K=2
        module!("5102d1f38a92ae24f2c353d9fdafe5d57792d9cb4660c822dcfe01d94f9c58cc"),
        // gemm/pack.cl -D HALF=1 -D WIDTH=2 -D TO_IMAGE=0
        module!("534f8cc44ff023c34263786df0db5682f9a73ca796123232a75d0df80b653da1"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=8 -D TILE_N=8 -D IMAGE_A=1 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("5638ca55c6086e3ab1ed19c3ea19de793cc03e8e03c308c495720f2ffc17a334"),
        // gemm/local_tile.cl -D HALF=0 -D SIDE=8 -D GROUP=16 -D DEPTH=8
        module!("5a593d64fe81aa6ae38b3f9f00f42daeaeca681f5c38e6602b7981662b791dda"),
        // gemv_q4/masks.cl -D IMAGE=1 -D COLUMNS=32 -D PARTS=8
        module!("60257bd1226cd88796b9afc250c4d32c07d40653b539a9f0e19c230f4523804f"),
        // gemv/parts.cl -D PARTS=4 -D IMAGE=1
        module!("60efe05819ccc99a85e5ce1296aa509043fec5deca68602611f2c4fe6b53c3ff"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=8 -D TILE_N=8 -D IMAGE_A=0 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("6738c7a141c7135400f9d4c3c12ccec43b57818dff80f6db3b1c18a80c0fd42d"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=1
        module!("6899f6ff1ea7ae4dc61d700ac5d5b91109aa72e6a2c70d6fcfd62a38878801ea"),
        // gemm/local_tile.cl -D HALF=1 -D SIDE=8 -D GROUP=16 -D DEPTH=8
        module!("6ad2b11286af98494d79fb90476a726577c36ee6ade2d8e9fa728623d254845f"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=4 -D TILE_N=8 -D IMAGE_A=1 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("6cc5209d96d3c30616c6042731022d80941e4e7623d8ccf5a31531257d70b463"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=8 -D TILE_N=4 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=2
        module!("6d4573d895e467f6a2c4013ef3b0a0e65e996e70c6bd38d557e532f0857925f8"),
        // gemm/pack.cl -D HALF=0 -D WIDTH=4 -D TO_IMAGE=1
        module!("6eb91134af0cbbb797f46e0688042560e3f85486c104de593eff4faadf0d2d14"),
        // gemm/float4_dot.cl -D HALF=1
        module!("70c06619b5e63219c113ff56cff5a2ece53f4622bac23f64204ad4b7876becb9"),
        // test.cl -cl-std=CL3.0
        module!("70e143de87bf0f4232fa0207d3cd2d13442fb85fb9fd57e4a05bdb96e31e61c3"),
        // gemm/pack.cl -D HALF=0 -D WIDTH=4 -D TO_IMAGE=0
        module!("723b7ab6ca243085d6d732d52d649c0c8328f6ae9969589ce436241961e6ebff"),
        // transpose/blocks.cl
        module!("7623c543246c51c3bade10cf1b7788b4f5b1770aac8003c6a0d6aef3243e5577"),
        // saxpy.cl -D WIDTH=8
        module!("7664adc54f442ddae7f3914a03960f40369521d3272e07154465ebe74832da88"),
        // padded.cl
        module!("7747c913b04cf62fc2feb6f2554ed6bbd575f066293a9ec1f29d5f17f4d2adaf"),
        // saxpy.cl -D WIDTH=1
        module!("78b40c517bdb390b5e360b56189f76612f4834faa858664ae0474196f4f304f7"),
        // test.cl -cl-std=CL2.0
        module!("7ab87daa575efe59b4798665f6c04f41ef1fd345d49ad2c163cb10bb2452a434"),
        // gemv/vector.cl -D IMAGE=0
        module!("7b05bd3eaa398dfc7526fededb75d998bb37cf8e822e34de00f07d8341703479"),
        // border_kernel.cl -cl-arm-non-uniform-work-group-size
        module!("7d911f1546a2ebf6bc8d95c7f4e931e588a9889a17ef77a74aa235f2e9db068f"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=1 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=1
        module!("7f4eda3021e1b019e5ee3b72e67456f5008deb92bc9d86e9a5728282f848be2c"),
        // gemm/naive.cl -D HALF=0
        module!("85b958edc70faa6c1dd55412d190f0f35bc051c6eecd38e74a5c8ca72b0ea3c4"),
        // border_kernel.cl -cl-std=CL2.0
        module!("86d9dbba8bb2e93e74bb11471942f66058d70ed56004754ebd5c18448e04fe91"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=4 -D TILE_N=8 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=2
        module!("87d927bdee3afe606034c8ce60d2f88ca90c9008cb2939248a96ad296adb7083"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=8 -D TILE_N=8 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=2
        module!("8cf72a030d0e31f501267765466b06adfbb4b56177acd4ee783329cb4028b12c"),
        // gemv/vector.cl -D IMAGE=1
        module!("8d2cdbd19fd02a3b6558b4c8bae8e04cf604ec6e8f08441b05074a432dab3db1"),
        // gemv_q4/masks.cl -D IMAGE=1 -D COLUMNS=64 -D PARTS=1
        module!("90bcd774572a46f1f6498374147c8b8af44835301acf489fd2601a86eb842ba2"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=1 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=1
        module!("91608f798e27a56dfe241e0ac780112b626f2b730c133bed0e98458d614a3d55"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=8 -D TILE_N=8 -D IMAGE_A=1 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("981f29497d0c26ca01930c0ac1a6acb65ad1a774331ed08dd019f05d3f116ebf"),
        // border_kernel.cl -cl-std=CL3.0
        module!("a2ee98963e51c55e22ce276d20ba975c437c1dd4c2295944283ceb4dbdc5298c"),
        // vector_add.cl
        module!("a48f9851e09158d84b609e6925f3b23137beb0eb97ecfb9c4079de7b10f2981c"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=8 -D TILE_N=4 -D IMAGE_A=1 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("a9a8d480257537f34cc19cd7f017abacebe8392cf0fddf10d55b3a1616d50a0e"),
        // gemv/group.cl -D ROWS=1 -D IMAGE=0
        module!("aa9e5e85638f90cd878a70050428f7422d78a2f4225234e726a353b42bce7cbc"),
        // gemv_q4/masks.cl -D IMAGE=1 -D COLUMNS=32 -D PARTS=4
        module!("aae20fa217b8274a8030ea08267a49227ffdc8501f7b9ea862d382003a45b46a"),
        // gemv_q4/columns.cl -D WIDTH=1
        module!("af80274dd1917bb698d278445efac24bc910f7c6a7015a44eeb720595a421780"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=0 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("b2ede2f9bbe81ebd5cf63c3e5c1b60b66bfc8b235f0826c951ef6c9743eac322"),
        // gemm/pack.cl -D HALF=0 -D WIDTH=8 -D TO_IMAGE=0
        module!("ba09974944a45056fb38878292ed878f676d86f76d519b0da834c0afa3b7d640"),
        // gemm/local_tile.cl -D HALF=0 -D SIDE=4 -D GROUP=16 -D DEPTH=16
        module!("ba1548ddbd2e379cc8d64870e3d4d3183aefdf16a309e9680c08afce19b23a9f"),
        // gemv_q4/naive.cl
        module!("bcbcf857cd5798b3c2cd07331ccb12450e9a6bc6886081ea2c86b2b58c1483fa"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=8 -D TILE_N=4 -D IMAGE_A=0 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("bd75abfb332dd2110dce38931559d327fac2b05ecb99620b48de3a105db8b353"),
        // gemm/pack.cl -D HALF=0 -D WIDTH=2 -D TO_IMAGE=0
        module!("c04ae72cb526bb9b589f9c8096680983c29c41f6214629b675a676128e01dc84"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=4 -D TILE_N=8 -D IMAGE_A=0 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("c1c403497f1dd34092b07484053a99018afd26f856e7c7fd9ea8f986ead051e4"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=1 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=1
        module!("c2c66cc9c7850fe18da507bbdf231e13ba019efd4586f49a7281c6a9fd7c4041"),
        // gemv/parts.cl -D PARTS=16 -D IMAGE=0
        module!("c3db4b3a2551222e187201f0d54d4081e3f702b2770cddfc286b0a1a4b0fac15"),
        // rgb_planar.cl
        module!("c4a0054d8a93fcc2cfab602527fefff6520259abadb529403ac8f15f133155ad"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=0 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("caf9b319b8eb6cf17ebe15a39209f60aeacab0d9324582be957df273f806255f"),
        // gemm/naive.cl -D HALF=1
        module!("d559d17d5994f404206eac5f90b089f0711ec504da9f29aa929f89892601ae71"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=4 -D TILE_N=8 -D IMAGE_A=1 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("d66722f30e975c7ee87bc52b8f8aeb7c19306dafea9748b1964a6413abfa599c"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=8 -D TILE_N=4 -D IMAGE_A=0 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("d672eed514aae37ca018daa4fe269e2e1d1c2187935b5e5fa62d37b40dbed562"),
        // transpose/local_tile.cl -D TILE=16
        module!("de9b7853b72796cb4be64f9bf5e85db77a03fff502e3ad28390db6e2573d0cd4"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=8 -D TILE_N=4 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=2
        module!("e01ce706d855130d9a9d7561050678cde41a6731189202cc70855025d947d402"),
        // laplace.cl
        module!("e5c3b58d2da5d05c9c67084d708c18f3390a58183dccd275352f9cfd230942c2"),
        // gemm/pack.cl -D HALF=1 -D WIDTH=4 -D TO_IMAGE=0
        module!("e89fbad0e98429c4da50a6203a5305019325c092717a34a022e0229545037b60"),
        // gemv_q4/masks.cl -D IMAGE=0 -D COLUMNS=16 -D PARTS=16
        module!("ebcaf6015e155529626436d8d48a5043a63708dba20361f54addf4eddcec54e4"),
        // transpose/naive.cl
        module!("ed880cdb4a0bce36874970020fb326d6b09c8d2a0b71b43fa3330b7ec17471cc"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=2 -D TILE_N=8 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=2
        module!("f2b593d71808c7d49cb77d562a7ac43e63593dfffa92b5b9ac8c5ff1489428b6"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=4 -D TILE_N=8 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=2
        module!("f608faee8261ca631f65c470d0ea86bfc6be97af5e893a78dbaaa53484d43d21"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=1 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=1
        module!("f66920834e16667e95ea5dea66d2aea13cf9cc3979fd46c50ecdd332d1e4ce8e"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=1 -D IMAGE_B=1 -D FMA=0 -D UNROLL_K=2
        module!("f91cd1f56b800c7d5f48a521163040625818a090e133e3e5191e4d1da26b9199"),
        // gemm/tile.cl -D HALF=1 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=1
        module!("fb14f4374cccbc3ed2eb0e78f2bc45f900b985ec9257122a535d1dac0cc3bd2e"),
        // gemm/tile.cl -D HALF=0 -D TILE_M=4 -D TILE_N=4 -D IMAGE_A=0 -D IMAGE_B=0 -D FMA=0 -D UNROLL_K=2
        module!("fc498dcd7a0e7116b4a21d9c7597bf0a56e343195345b547ce982469f7c80372"),
    ],
}
